"""Graphs as TorchScript writes them: ``Graph``, ``Node``, ``Value``, ``Block``, and ``parse_ir`` for their text form."""
from kindling import _types


class Use:
    """Where a value is used: ``user`` (a node) and ``offset`` (its input)."""

    def __init__(self, user, offset):
        self.user, self.offset = user, offset

    def isAfter(self, other):
        return self.user.isAfter(other.user)


class Value:
    """What a node gives."""

    def __init__(self, node, kind, number, name=None):
        self._node, self._type, self._number, self._name = node, kind, number, name

    def node(self):
        return self._node

    def type(self):
        return self._type

    def setType(self, kind):
        self._type = kind
        return self

    def setTypeAs(self, other):
        return self.setType(other._type)

    inferTypeFrom = setType

    def unique(self):
        return self._number

    def debugName(self):
        return str(self._number) if self._name is None else self._name

    def setDebugName(self, name):
        self._name = name
        return self

    def offset(self):
        return self._node._outputs.index(self)

    def uses(self):
        """Every place that reads this value, in order."""
        return [Use(node, place) for node in self._node._graph._all() for place, value in enumerate(node._inputs) if value is self]

    def replaceAllUsesWith(self, other):
        for use in self.uses():
            use.user._inputs[use.offset] = other

    def replaceAllUsesAfterNodeWith(self, node, other):
        for use in self.uses():
            if use.user.isAfter(node):
                use.user._inputs[use.offset] = other

    def copyMetadata(self, other):
        self._type, self._name = other._type, other._name or self._name

    def isCompleteTensor(self):
        return type(self._type) is _types.TensorType and None not in self._type._known[:3]

    def requires_grad(self):
        return type(self._type) is _types.TensorType and self._type.requires_grad()

    requiresGrad = requires_grad

    def toIValue(self):
        """The constant behind this value; None where there is none."""
        return self._node._attributes.get("value", (None, None))[1] if self._node._kind == "prim::Constant" else None

    def _text(self):
        return f"%{self.debugName()} : {self._type.str()}"

    def __repr__(self):
        return f"{self.debugName()} defined in ({str(self._node).strip()})"


class Node:
    """One operation: its kind, inputs, outputs, attributes and blocks."""

    def __init__(self, graph, kind, inputs=(), outputs=0):
        self._graph, self._kind, self._block = graph, kind, None
        self._inputs, self._attributes, self._blocks = list(inputs), {}, []
        self._outputs = []
        for _ in range(outputs):
            self.addOutput()

    def kind(self):
        return self._kind

    def owningBlock(self):
        return self._block

    def inputs(self):
        return iter(list(self._inputs))

    def outputs(self):
        return iter(list(self._outputs))

    def inputsSize(self):
        return len(self._inputs)

    def outputsSize(self):
        return len(self._outputs)

    def hasMultipleOutputs(self):
        return len(self._outputs) > 1

    def inputsAt(self, place):
        return self._inputs[place]

    def outputsAt(self, place):
        return self._outputs[place]

    def input(self):
        if len(self._inputs) != 1:
            raise RuntimeError(f"inputs_.size() == 1 expected, but {self._kind} has {len(self._inputs)} inputs")
        return self._inputs[0]

    def output(self):
        if len(self._outputs) != 1:
            raise RuntimeError(f"outputs_.size() == 1 expected, but {self._kind} has {len(self._outputs)} outputs")
        return self._outputs[0]

    def blocks(self):
        return iter(list(self._blocks))

    def addBlock(self):
        self._blocks.append(Block(self._graph, self))
        return self._blocks[-1]

    def addInput(self, value):
        self._inputs.append(value)
        return value

    def addOutput(self):
        self._outputs.append(Value(self, _types.TensorType.get(), self._graph._next()))
        return self._outputs[-1]

    def eraseOutput(self, place):
        del self._outputs[place]

    def replaceInput(self, place, value):
        before, self._inputs[place] = self._inputs[place], value
        return before

    def replaceInputWith(self, old, new):
        self._inputs = [new if value is old else value for value in self._inputs]

    def removeInput(self, place):
        del self._inputs[place]

    def removeAllInputs(self):
        self._inputs.clear()

    def replaceAllUsesWith(self, other):
        for mine, theirs in zip(self._outputs, other._outputs):
            mine.replaceAllUsesWith(theirs)

    def hasUses(self):
        return any(value.uses() for value in self._outputs)

    def _place(self, block, at):
        if self._block is not None:
            self._block._nodes.remove(self)
        self._block = block
        block._nodes.insert(at() if callable(at) else at, self)
        return self

    def insertBefore(self, other):
        return self._place(other._block, lambda: other._block._nodes.index(other))

    def insertAfter(self, other):
        return self._place(other._block, lambda: other._block._nodes.index(other) + 1)

    moveBefore, moveAfter = insertBefore, insertAfter

    def isBefore(self, other):
        order = self._graph._all()
        return order.index(self) < order.index(other)

    def isAfter(self, other):
        return other.isBefore(self)

    def destroy(self):
        """Takes the node out; RuntimeError while something reads what it gives."""
        if self.hasUses():
            raise RuntimeError(f"cannot destroy {self._kind}: its outputs are still used")
        self._block._nodes.remove(self)
        self._block, self._inputs = None, []

    def schema(self):
        """The signature of the operator that this calls, as text; "(no schema)" if it is none."""
        from kindling import _C
        space, _, name = self._kind.partition("::")
        core = name if space == "aten" else self._kind
        best = None
        for overload in _C._overload_names(core):
            found = _types.parse_schema(_C._schema_text(core, overload)[0])
            needed = sum(not a.has_default_value() for a in found.arguments)
            if needed <= len(self._inputs) <= len(found.arguments) and all(
                    v._type.isSubtypeOf(a.real_type) for v, a in zip(self._inputs, found.arguments)):
                best = best or f"{space}::{found}"
        return best or "(no schema)"

    def findNode(self, kind, recurse=True):
        found = self.findAllNodes(kind, recurse)
        return found[0] if found else None

    def findAllNodes(self, kind, recurse=True):
        return [node for block in self._blocks for node in block.findAllNodes(kind, recurse)]

    def attributeNames(self):
        return list(self._attributes)

    def hasAttributes(self):
        return bool(self._attributes)

    def hasAttribute(self, name):
        return name in self._attributes

    def kindOf(self, name):
        return self._attributes[name][0]

    def removeAttribute(self, name):
        del self._attributes[name]
        return self

    def copyAttributes(self, other):
        self._attributes.update(other._attributes)
        return self

    copyMetadata = copyAttributes

    def mustBeNone(self):
        return self._kind == "prim::Constant" and "value" not in self._attributes

    def scopeName(self):
        return ""

    def prev(self):
        at = self._block._nodes.index(self)
        return self._block._nodes[at - 1] if at else self._block._return

    def _line(self, indent):
        attributes = ", ".join(f"{name}={_types._literal(value)}" for name, (_, value) in self._attributes.items())
        left = ", ".join(value._text() for value in self._outputs)
        text = f"{indent}{left}{' = ' if left else ''}{self._kind}{f'[{attributes}]' if attributes else ''}({_names(self._inputs)})\n"
        for place, block in enumerate(self._blocks):
            text += f"{indent}  block{place}({', '.join(value._text() for value in block._param._outputs)}):\n"
            text += "".join(node._line(indent + "    ") for node in block._nodes)
            text += f"{indent}    -> ({_names(block._return._inputs)})\n"
        return text

    def __repr__(self):
        return self._line("")


def _attribute(kind):
    def get(self, name):
        found = self._attributes.get(name)
        if found is None or found[0] != kind:
            raise RuntimeError(f"required keyword attribute '{name}' " + ("has the wrong type" if found else "is undefined"))
        return found[1]

    def put(self, name, value):
        self._attributes[name] = (kind, value)
        return self
    return get, put


for _kind in ("f", "fs", "c", "s", "ss", "i", "is", "g", "gs", "t", "ts", "ty", "tys", "ival"):
    _get, _put = _attribute(_kind)
    setattr(Node, _kind, _get)
    setattr(Node, _kind + "_", _put)


def _names(values):
    return ", ".join("%" + value.debugName() for value in values)


class Block:
    """Nodes in order, with inputs and outputs."""

    def __init__(self, graph, owner=None):
        self._graph, self._owner, self._nodes = graph, owner, []
        self._param, self._return = Node(graph, "prim::Param"), Node(graph, "prim::Return")
        self._param._block = self._return._block = self

    def nodes(self):
        return iter(list(self._nodes))

    def inputs(self):
        return self._param.outputs()

    def outputs(self):
        return self._return.inputs()

    def paramNode(self):
        return self._param

    def returnNode(self):
        return self._return

    param_node, return_node = paramNode, returnNode

    def owningNode(self):
        return self._owner

    def addNode(self, kind, inputs):
        node = Node(self._graph, kind, inputs, 1)
        return node._place(self, len(self._nodes))

    def addInputToBlock(self):
        return self._param.addOutput()

    def registerOutput(self, value):
        self._return._inputs.append(value)
        return len(self._return._inputs) - 1

    def findAllNodes(self, kind, recurse=True):
        """The nodes of a kind, in order."""
        found = []
        for node in self._nodes:
            if node._kind == kind:
                found.append(node)
            if recurse:
                found += node.findAllNodes(kind, True)
        return found

    def findNode(self, kind, recurse=True):
        found = self.findAllNodes(kind, recurse)
        return found[0] if found else None

    def _all(self):
        for node in self._nodes:
            yield node
            for block in node._blocks:
                yield from block._all()
        yield self._return


class Graph(Block):
    """A function as a graph: inputs, nodes, outputs.

    >>> graph = torch.parse_ir("graph(%x : Tensor):\\n  %y : Tensor = aten::relu(%x)\\n  return (%y)")
    >>> graph.findNode("aten::relu").output().debugName()
    '1'
    """

    def __init__(self):
        self._numbers = -1
        super().__init__(self)
        self._point = None

    def _next(self):
        self._numbers += 1
        return self._numbers

    def _all(self):
        return list(super()._all())

    def block(self):
        return self

    def addInput(self, name=None):
        value = self._param.addOutput()
        return value.setDebugName(name) if name else value

    def eraseInput(self, place):
        self._param.eraseOutput(place)

    def eraseOutput(self, place):
        del self._return._inputs[place]

    def permuteInputs(self, order):
        self._param._outputs = [self._param._outputs[place] for place in order]

    def create(self, kind, *arguments):
        """A node that is in no block yet: ``create(kind, inputs=[], outputs=1)`` or ``create(kind, outputs)``."""
        inputs = list(arguments[0]) if arguments and not isinstance(arguments[0], int) else []
        outputs = arguments[-1] if arguments and isinstance(arguments[-1], int) else 1
        return Node(self, kind, inputs, outputs)

    def appendNode(self, node):
        return node._place(self, lambda: len(self._nodes))

    def prependNode(self, node):
        return node._place(self, 0)

    def insertNode(self, node):
        return node.insertBefore(self._point) if self._point is not None else self.appendNode(node)

    def setInsertPoint(self, node):
        self._point = node if isinstance(node, Node) else None

    def insertPoint(self):
        return self._point or self._return

    def insert(self, kind, inputs):
        return self.insertNode(self.create(kind, inputs)).output()

    def insertConstant(self, value):
        node = self.insertNode(self.create("prim::Constant"))
        names = {bool: ("i", "BoolType"), int: ("i", "IntType"), float: ("f", "FloatType"), str: ("s", "StringType")}
        if value is None:
            return node.output().setType(_types.NoneType.get())
        kind, name = names.get(type(value), ("ival", "AnyType"))
        node._attributes["value"] = (kind, value)
        return node.output().setType(getattr(_types, name).get())

    def copy(self):
        """The same graph, its values numbered afresh."""
        return parse_ir(str(self))

    def lint(self):
        """RuntimeError if a node reads what is made later, or not at all."""
        known = set(map(id, self._param._outputs))

        def check(block):
            known.update(map(id, block._param._outputs))
            for node in block._nodes:
                for value in node._inputs:
                    if id(value) not in known:
                        raise RuntimeError(f"{node._kind} reads %{value.debugName()} before it is made")
                for inner in node._blocks:
                    check(inner)
                known.update(map(id, node._outputs))
            for value in block._return._inputs:
                if id(value) not in known:
                    raise RuntimeError(f"%{value.debugName()} is returned, but never made")
        check(self)

    def str(self, print_source_ranges=True):
        return repr(self)

    def __repr__(self):
        inputs = ",\n      ".join(value._text() for value in self._param._outputs)
        return f"graph({inputs}):\n{''.join(node._line('  ') for node in self._nodes)}  return ({_names(self._return._inputs)})\n"


def parse_ir(input, parse_tensor_constants=False):
    """The :class:`Graph` of its text; RuntimeError that shows the place where it is none."""
    reader = _types._Reader(input)
    graph, values = Graph(), {}
    name = reader.match(r"%[\w.]+")

    def declare(make):
        word = reader.read(name, "a value")[1:]
        kind = reader.kind()[0] if reader.take(":") else _types.TensorType.get()
        value = values[word] = make().setType(kind)
        return value if word.isdigit() else value.setDebugName(word)

    def read():
        word = reader.read(name, "a value")[1:]
        if word not in values:
            raise RuntimeError(f"Cannot find a variable with name '{word}'\n{reader.text}\n{' ' * reader.at}~ <--- HERE")
        return values[word]

    def several(one, close):
        found = []
        while not reader.take(close):
            if found:
                reader.need(",")
            found.append(one())
        return found

    def attribute():
        word = reader.read(reader.word, "an attribute")
        reader.need("=")
        value = reader.literal(_types.AnyType.get())
        first = value[0] if isinstance(value, list) and value else value
        kind = "f" if isinstance(first, float) else "s" if isinstance(first, str) else "i"
        return word, (kind + "s" * isinstance(value, list), value)

    def body(block, end):
        while True:
            reader.at = reader.space.match(reader.text, reader.at).end()
            if reader.take(end):
                reader.need("(")
                block._return._inputs += several(read, ")")
                return
            node = Node(graph, "")
            outputs = []
            if reader.text.startswith("%", reader.at):
                outputs.append(_pair(reader, name))
                while reader.take(","):
                    outputs.append(_pair(reader, name))
                reader.need("=")
            node._kind = reader.read(reader.dots, "the kind of a node")
            if reader.take("["):
                node._attributes = dict(several(attribute, "]"))
            reader.need("(")
            node._inputs = several(read, ")")
            node._place(block, len(block._nodes))
            made = []
            for word, kind in outputs:
                value = node.addOutput().setType(kind or _types.TensorType.get())
                made.append((word, value))
            while reader.match(r"\s*block\d+\(").match(reader.text, reader.at):
                reader.read(reader.match(r"block\d+\("), None)
                inner = node.addBlock()
                several(lambda: declare(inner.addInputToBlock), ")")
                reader.need(":")
                body(inner, "->")
            values.update(made)

    reader.need("graph")
    reader.need("(")
    several(lambda: declare(graph.addInput), ")")
    reader.need(":")
    body(graph, "return")
    # Values are numbered in the order of the text, whatever they were called there.
    number = 0
    for value in graph._param._outputs:
        value._number, number = number, number + 1

    def renumber(block, number):
        for node in block._nodes:
            for value in node._outputs:
                value._number, number = number, number + 1
            for inner in node._blocks:
                for value in inner._param._outputs:
                    value._number, number = number, number + 1
                number = renumber(inner, number)
        return number
    graph._numbers = renumber(graph, number) - 1
    return graph


def _pair(reader, name):
    word = reader.read(name, "a value")[1:]
    return word, reader.kind()[0] if reader.take(":") else None


for _each in (Use, Value, Node, Block, Graph):
    _each.__module__ = _types.PACKAGE
