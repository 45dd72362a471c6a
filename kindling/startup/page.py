"""The page of `kindling startup --html`: one file with its style and script, nothing is loaded from anywhere.

The script draws three views of the same data as an icicle: imports over time, packages and libraries. What it shows is in
the address after `#` (view, color, zoom, q, hover, theme), so a state can be kept as a link.
"""

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>@TITLE@</title>
<style>
:root{--bg:#f7f7f5;--card:#fff;--ink:#1c1e21;--soft:#62676e;--line:#e2e2de;--accent:#b4531a;--bs:62%;--bl:79%;--cell:#fff;--mark:#1c1e21;
 color-scheme:light}
:root[data-theme=dark]{--bg:#15171a;--card:#1d2024;--ink:#e7e8ea;--soft:#9aa0a8;--line:#2e3238;--accent:#f0955a;--bs:34%;--bl:33%;
 --cell:#1d2024;--mark:#fff;color-scheme:dark}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1500px;margin:0 auto;padding:20px 24px 48px}
header{display:flex;align-items:flex-start;gap:16px;justify-content:space-between}
h1{font-size:20px;margin:0;font-weight:650;overflow-wrap:anywhere}
h1 small{display:block;font-size:12px;font-weight:400;color:var(--soft);margin-bottom:2px}
h2{font-size:14px;margin:0 0 8px;font-weight:650}
code,.mono,#chart,td,#trail{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.tiles{display:flex;flex-wrap:wrap;gap:10px;margin:16px 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 14px;min-width:112px}
.tile b{display:block;font-size:19px;font-weight:600;font-variant-numeric:tabular-nums}
.tile span{font-size:12px;color:var(--soft)}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px;margin-top:14px;min-width:0}
.bar{display:flex;flex-wrap:wrap;gap:10px;align-items:center}
.seg{display:inline-flex;border:1px solid var(--line);border-radius:7px;overflow:hidden}
button{font:inherit;color:inherit;background:none;border:1px solid var(--line);border-radius:7px;padding:4px 11px;cursor:pointer}
.seg button{border:0;border-radius:0}
button:hover{background:var(--bg)}
button[aria-pressed=true]{background:var(--ink);color:var(--card)}
button:focus-visible,input:focus-visible,.n:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
input{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--line);border-radius:7px;padding:4px 10px;width:230px}
#found{color:var(--soft);font-size:13px}
#trail{margin:10px 0 8px;font-size:12px;color:var(--soft);overflow-wrap:anywhere;min-height:18px}
#trail a{color:inherit;cursor:pointer;text-decoration:none}#trail a:hover{color:var(--accent);text-decoration:underline}
#trail b{color:var(--ink);font-weight:600}
#box{overflow:auto;max-height:70vh}
#chart{position:relative;font-size:11px;line-height:19px;overflow:hidden}
.n{position:absolute;height:19px;padding:0 4px;border-radius:2px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;cursor:pointer;
 background:hsl(var(--h) var(--s,var(--bs)) var(--bl));color:var(--ink);box-shadow:inset -1px 0 0 var(--cell)}
.n.thin{padding:0}.n.up{opacity:.55}
.n:hover{box-shadow:inset 0 0 0 1px var(--mark);z-index:1}
.n.d{background:linear-gradient(hsl(var(--h) 78% 50%/var(--a)) 0 0),linear-gradient(var(--line) 0 0)}
.dim .n:not(.hit){opacity:.22}
.n.hit{box-shadow:inset 0 0 0 2px var(--accent)}
.legend{display:flex;flex-wrap:wrap;gap:4px 14px;margin-top:10px;font-size:12px;color:var(--soft)}
.legend span{cursor:pointer}
.legend i{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:5px;vertical-align:-1px;
 background:hsl(var(--h) var(--s,var(--bs)) var(--bl))}
.legend i.d{background:hsl(var(--h) 78% 50%/var(--a))}
#tip{position:fixed;z-index:9;width:max-content;max-width:560px;background:var(--card);border:1px solid var(--soft);border-radius:7px;padding:8px 11px;
 font-size:12px;box-shadow:0 4px 16px #0004;pointer-events:none;overflow-wrap:anywhere}
#tip b{font-size:13px}#tip div{color:var(--soft)}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:0 14px}
section.list{max-height:340px;overflow:auto}
table{border-collapse:collapse;width:100%;font-size:12px;table-layout:fixed}
td{padding:2px 6px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
td.t{width:84px;text-align:right;font-variant-numeric:tabular-nums}
td.wrap{white-space:normal;overflow-wrap:anywhere}
tr.go{cursor:pointer}tr.go:hover{background:var(--bg)}
td .v{position:relative;display:block}
td.b{background:linear-gradient(var(--line) 0 0) no-repeat left/var(--w) 100%}
td em{color:var(--soft);font-style:normal}
.up1{color:#c0392b}.down1{color:#2471a3}[data-theme=dark] .up1{color:#ff8d7e}[data-theme=dark] .down1{color:#7dbcf0}
footer{color:var(--soft);font-size:12px;margin-top:16px}
</style>
<body><main>
<header><h1><small>start of a Python program</small><code id="title"></code></h1><button id="theme" title="light or dark">◐</button></header>
<div class="tiles" id="tiles"></div>
<section class="card">
<div class="bar"><span class="seg" id="views"></span><span class="seg" id="colors"></span>
<input id="q" type="search" placeholder="search ( / )" aria-label="search"><span id="found"></span>
<span style="flex:1"></span><button id="reset">whole</button></div>
<div id="trail"></div><div id="box"><div id="chart"></div></div><div class="legend" id="legend"></div>
</section>
<div class="grid" id="tables"></div><footer id="notes"></footer>
</main><div id="tip" hidden></div>
<script type="application/json" id="data">@DATA@</script>
<script>
"use strict"
const D=JSON.parse(document.getElementById("data").textContent),$=id=>document.getElementById(id)
const H=20,ms=x=>(x>=1000?(x/1000).toFixed(2)+" s":x>=100?x.toFixed(0)+" ms":x>=0.995?x.toFixed(1)+" ms":x.toFixed(2)+" ms")
const sign=x=>(x<0?"\\u2212":"+")+ms(Math.abs(x))
function el(tag,text,parent,cls){const e=document.createElement(tag);if(text!=null)e.textContent=text;if(cls)e.className=cls;if(parent)parent.append(e);return e}
// A node: depth, name, begin and length in ms, kind, package, own ms, where imported, file, change in ms or null.
const make=(depth,name,begin,ms,kind,pack,self,where,file,change)=>({depth,name,begin,ms,kind,pack,self,where,file,change})
const imports=D.nodes.map(n=>make(...n))
const sum=(a,f)=>a.reduce((s,x)=>s+f(x),0)
const add=a=>a.some(x=>x.change!=null)?sum(a,x=>x.change||0):null
function packages(){
 const groups=new Map()
 for(const n of imports)if(n.kind=="module"){const k=n.pack;groups.has(k)||groups.set(k,[]);groups.get(k).push(n)}
 const rows=[...groups].map(([name,list])=>({name,list:list.filter(n=>n.own>0).sort((a,b)=>b.own-a.own),ms:sum(list,n=>n.own),change:add(list)}))
 rows.sort((a,b)=>b.ms-a.ms)
 const all=sum(rows,r=>r.ms),out=[make(0,"all packages",0,all,"program","",0,"","",add(rows))]
 let at=0
 for(const r of rows){
  out.push(make(1,r.name,at,r.ms,"package",r.name,0,r.list.length+" modules","",r.change))
  for(const n of r.list){out.push(make(2,n.name,at,n.own,"module",r.name,n.own,n.where,n.file,n.change));at+=n.own}
 }
 return out
}
function libraries(){
 const all=sum(D.libraries,l=>l.ms),out=[make(0,"all libraries",0,all,"program","",0,"","",add(D.libraries))]
 let at=0
 for(const l of D.libraries){
  out.push(make(1,l.name,at,l.ms,"library",l.pack,0,l.importer,l.path,l.change))
  let inner=at
  for(const [name,kind,t] of l.parts){out.push(make(2,name,inner,t,kind,kind,t,"",l.path,null));inner+=t}
  at+=l.ms
 }
 return out
}
// Own time of a module with that of its libraries, which are drawn inside it.
{const open=[]
 for(const n of imports){n.own=n.self;while(open.length&&open[open.length-1].depth>=n.depth)open.pop()
  if(n.kind!="module")for(let i=open.length-1;i>=0;i--)if(open[i].kind=="module"){open[i].own+=n.self;break}
  open.push(n)}}
const VIEWS={imports:["Imports over time",()=>imports],packages:["Packages",packages],libraries:["Libraries",libraries]}
const KINDS={map:200,relocate:38,constructor:345,init:150}
const HUES=[212,28,150,276,52,340,185,96,305,8,245,128],hue=new Map()
D.packages.forEach((p,i)=>hue.set(p,i<HUES.length?HUES[i]:(i*47+19)%360))
const S={view:"imports",color:D.diff?"diff":"package",zoom:"",q:"",hover:"",theme:matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light"}
for(const [k,v] of new URLSearchParams(location.hash.slice(1)))if(k in S)S[k]=v
if(!VIEWS[S.view])S.view="imports"
if(S.color!="diff"||!D.diff)S.color="package"
let nodes=[],zoom=null,cells=new Map(),most=1
const made={}
function load(){nodes=made[S.view]||(made[S.view]=VIEWS[S.view][1]())
 zoom=S.zoom&&nodes.find(n=>n.name==S.zoom)||nodes[0]
 most=Math.max(1e-3,...nodes.filter(n=>n.kind!="program"&&n.kind!="package").map(n=>Math.abs(n.change||0)))}
function paint(e,n){
 if(S.color=="diff"){e.classList.add("d");const c=n.kind=="program"||n.kind=="package"?0:n.change||0
  e.style.setProperty("--h",c>0?6:212);e.style.setProperty("--a",c?Math.min(0.9,.12+.78*Math.sqrt(Math.abs(c)/most)).toFixed(2):0);return}
 const plain=n.kind=="program"||n.kind=="phase"||n.pack=="(standard library)"
 e.style.setProperty("--h",n.kind in KINDS?KINDS[n.kind]:plain?220:hue.get(n.pack)??220)
 if(plain)e.style.setProperty("--s","8%")}
const hit=n=>S.q&&(n.name+" "+n.pack).toLowerCase().includes(S.q.toLowerCase())
function draw(){
 document.documentElement.dataset.theme=S.theme
 const chart=$("chart"),W=$("box").clientWidth-2;chart.textContent="";cells=new Map()
 if(!nodes.length)return
 const b=zoom.begin,len=zoom.ms||1e-9,end=b+len,eps=len*1e-9
 let deep=0,list=document.createDocumentFragment(),count=0,time=0,covered=-1
 for(const n of nodes){
  const h=hit(n);if(h){count++;if(n.begin>=covered-1e-9){time+=n.ms;covered=n.begin+n.ms}}
  const lo=Math.max(n.begin,b),hi=Math.min(n.begin+n.ms,end)
  if(n!=zoom&&hi-lo<=eps)continue
  const x=(lo-b)/len*W,w=Math.max((hi-lo)/len*W,1)
  if(w<1.2&&n!=zoom&&!h)continue
  const e=document.createElement("div");e.className="n"+(w<22?" thin":"")+(n.depth<zoom.depth?" up":"")+(h?" hit":"")
  e.style.cssText=`left:${x.toFixed(1)}px;top:${n.depth*H}px;width:${w.toFixed(1)}px`
  if(w>=22){e.textContent=w>130?n.name+"  "+ms(n.ms):n.name;e.tabIndex=0}
  paint(e,n);e.node=n;cells.set(n,e);list.append(e);deep=Math.max(deep,n.depth)}
 chart.append(list);chart.style.height=(deep+1)*H+"px";chart.classList.toggle("dim",count>0)
 $("found").textContent=S.q?`${count} found, ${ms(time)} (${(100*time/(nodes[0].ms||1)).toFixed(1)}%)`:""
 const trail=$("trail");trail.textContent=""
 const path=[];for(let i=nodes.indexOf(zoom),d=zoom.depth+1;i>=0;i--)if(nodes[i].depth<d){path.unshift(nodes[i]);d=nodes[i].depth;if(!d)break}
 path.forEach((n,i)=>{if(i)trail.append(" \\u203a ");const a=el(i<path.length-1?"a":"b",n.name,trail);a.onclick=()=>go(n)})
 trail.append(`  ${ms(zoom.ms)}`)
 for(const x of document.querySelectorAll("[data-set]")){const [k,v]=x.dataset.set.split("=");x.setAttribute("aria-pressed",S[k]==v)}
 legend();hover(S.hover&&nodes.find(n=>n.name==S.hover&&cells.has(n)))}
function legend(){const box=$("legend");box.textContent=""
 const item=(text,h,cls,s,a)=>{const e=el("span",null,box),i=el("i",null,e,cls);i.style.setProperty("--h",h);if(s)i.style.setProperty("--s",s);if(a)i.style.setProperty("--a",a);e.append(text);return e}
 if(S.color=="diff"){item("slower than in "+D.diff,6,"d",0,.8);item("faster",212,"d",0,.8);return}
 if(S.view!="packages")for(const k in KINDS)item(k,KINDS[k])
 if(S.view!="libraries"){item("standard library",220,"","8%").onclick=()=>search("(standard library)")
  for(const p of D.packages.slice(0,HUES.length))item(p,hue.get(p)).onclick=()=>search(p)}}
function hover(n,x,y){const tip=$("tip");tip.hidden=!n;if(!n)return
 tip.textContent="";el("b",n.name,tip,"mono")
 const own=n.kind=="module"&&S.view=="imports"
 el("div",(n.kind=="program"?"":n.kind+", ")+`${ms(n.ms)} (${(100*n.ms/(nodes[0].ms||1)).toFixed(1)}%)`+(own?`, itself ${ms(n.self)}`:""),tip)
 if(n.change!=null)el("div","change "+sign(n.change),tip,n.change>0?"up1":"down1")
 if(n.where)el("div",(n.kind=="module"?"first imported by ":n.kind=="library"?"loaded for ":"")+n.where,tip)
 if(n.pack&&n.kind=="module")el("div","package "+n.pack,tip)
 if(n.file)el("div",n.file,tip,"mono")
 if(x==null){const r=cells.get(n).getBoundingClientRect();x=r.left+Math.min(r.width/2,200);y=r.bottom}
 tip.style.left=Math.max(4,Math.min(x+12,innerWidth-tip.offsetWidth-8))+"px"
 tip.style.top=(y+16+tip.offsetHeight>innerHeight?Math.max(4,y-tip.offsetHeight-10):y+16)+"px"}
function keep(){const p=new URLSearchParams();for(const k in S)if(S[k]&&k!="hover"&&!(k=="view"&&S[k]=="imports"))p.set(k,S[k]);history.replaceState(null,"","#"+p)}
function go(n){zoom=n;S.zoom=n==nodes[0]?"":n.name;S.hover="";keep();draw()}
function search(q){S.q=q;$("q").value=q;S.hover="";keep();draw()}
function set(k,v){S[k]=v;S.hover="";if(k=="view")S.zoom="";keep();load();draw()}
function jump(name,view){S.view=view;S.zoom=name;S.hover="";keep();load();draw();scrollTo({top:0,behavior:"smooth"})}
function option(box,k,v,text){const e=el("button",text,$(box));e.dataset.set=k+"="+v;e.onclick=()=>set(k,v)}
$("title").textContent=D.title
for(const [label,value] of D.tiles){const t=el("div",null,$("tiles"),"tile");el("b",typeof value=="number"?ms(value):value,t);el("span",label,t)}
for(const v in VIEWS)if(v!="libraries"||D.libraries.length)option("views","view",v,VIEWS[v][0])
if(D.diff){option("colors","color","package","by package");option("colors","color","diff","by change")}else $("colors").remove()
function table(title,rows,view){if(!rows.length)return
 const card=el("section",null,$("tables"),"card");el("h2",title,card);const t=el("table",null,card),top=Math.max(...rows.map(r=>r[0]||0))
 for(const [time,name,more,to,change] of rows){const tr=el("tr",null,t)
  const first=el("td",time==null?"":ms(time),tr,"t");if(time!=null&&top>0){first.classList.add("b");first.style.setProperty("--w",(100*time/top).toFixed(1)+"%")}
  const td=el("td",null,tr,view?"":"wrap");td.append(name+" ");if(change&&Math.abs(change)>=.005)el("span",sign(change)+" ",td,change>0?"up1":"down1");el("em",more,td)
  if(!view){first.remove();card.classList.add("list")}if(to){tr.className="go";tr.title=name+" "+more;tr.onclick=()=>jump(to,view)}}}
const longest=imports.filter(n=>n.kind=="module").sort((a,b)=>b.own-a.own).slice(0,15)
table("Modules by their own time",longest.map(n=>[n.own,n.name,n.where,n.name,n.change]),"imports")
const packs=(made.packages=packages()).filter(n=>n.depth==1)
table("Packages",packs.slice(0,15).map(n=>[n.ms,n.name,n.where,n.name,n.change]),"packages")
table("Libraries",D.libraries.slice(0,15).map(l=>[l.ms,l.name,l.importer,l.name,l.change]),"libraries")
for(const [title,rows] of D.lists)table(title,rows.map(r=>[null,r[0],r[1]]))
$("notes").textContent=D.notes.join(" · ")
$("theme").onclick=()=>set("theme",S.theme=="dark"?"light":"dark")
$("reset").onclick=()=>{search("");go(nodes[0])}
$("q").value=S.q;$("q").oninput=e=>search(e.target.value)
const chart=$("chart"),of=e=>e.target.closest(".n")?.node
chart.onclick=e=>{const n=of(e);n&&go(n)}
chart.onmousemove=e=>hover(of(e),e.clientX,e.clientY)
chart.onmouseleave=()=>hover()
chart.addEventListener("focusin",e=>{const n=of(e);n&&e.target.matches(":focus-visible")&&hover(n)})
chart.addEventListener("focusout",()=>hover())
addEventListener("keydown",e=>{const typing=e.target==$("q")
 if(e.key=="Enter"&&of(e))go(of(e));else if(e.key=="Escape"){search("");go(nodes[0])}
 else if(e.key=="/"&&!typing){e.preventDefault();$("q").focus()}})
addEventListener("resize",draw)
load();draw()
</script></body></html>
"""
