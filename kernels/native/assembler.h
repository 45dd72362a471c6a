// kernels/native/assembler.h: the x86-64 forms that loop kernels and scalar functions need, and an encoder for them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kindling::native {

// Flags of a form's row, besides its opcode.
enum Flags : uint32_t {
    V = 1,                // has a VEX form
    E = 2,                // has an EVEX form
    Three = 4,            // a source in VEX.vvvv
    Imm = 8,              // an immediate byte
    Store = 16,           // r/m is the destination
    W = 32,               // EVEX.W: elements of 8 bytes
    VexW = 64,            // VEX.W
    ToMask = 128,         // the EVEX form writes a mask register
    FromMask = 256,       // r/m is a mask register
    RegHalf = 512,        // the other register has half the length
    Half = 1024,          // r/m has half the length
    Quarter = 2048,       // r/m has a quarter of it
    Scalar = 4096,        // r/m in memory is one element
    Is4 = 8192,           // a fourth register in the immediate byte
    Masks = 16384,        // all registers are mask registers
    L1 = 32768,           // VEX.L for mask registers
    ToGeneral = 65536,    // the register is a general one
    FromGeneral = 131072, // r/m is a general register
    Extract = 262144,     // r/m is a 16-byte register or memory, whatever the length
};

// X(name, text, prefix (0, 0x66, 0xF3, 0xF2), map (1: 0F, 2: 0F38, 3: 0F3A), opcode, /digit or -1, bytes of an
// broadcast element in memory or 0, flags)
#define KINDLING_FOR_EACH_VECTOR_FORM(X)                                                                                                   \
    X(MovUps, "vmovups", 0, 1, 0x10, -1, 0, V | E)                                                                                         \
    X(MovUpsStore, "vmovups", 0, 1, 0x11, -1, 0, V | E | Store)                                                                            \
    X(MovUpd, "vmovupd", 0x66, 1, 0x10, -1, 0, V | E | W)                                                                                  \
    X(MovUpdStore, "vmovupd", 0x66, 1, 0x11, -1, 0, V | E | W | Store)                                                                     \
    X(MovNtPs, "vmovntps", 0, 1, 0x2B, -1, 0, V | E | Store)                                                                               \
    X(MaskMovPs, "vmaskmovps", 0x66, 2, 0x2C, -1, 0, V | Three)                                                                            \
    X(MaskMovPsStore, "vmaskmovps", 0x66, 2, 0x2E, -1, 0, V | Three | Store)                                                               \
    X(MovAps, "vmovaps", 0, 1, 0x28, -1, 0, V | E)                                                                                         \
    X(MovD, "vmovd", 0x66, 1, 0x6E, -1, 4, V | E | Scalar)                                                                                 \
    X(MovQ, "vmovq", 0xF3, 1, 0x7E, -1, 8, V | E | W | Scalar)                                                                             \
    X(MovDStore, "vmovd", 0x66, 1, 0x7E, -1, 4, V | E | Scalar | Store)                                                                    \
    X(MovQStore, "vmovq", 0x66, 1, 0xD6, -1, 8, V | E | W | Scalar | Store)                                                                \
    X(MovU8, "vmovdqu8", 0xF2, 1, 0x6F, -1, 0, E)                                                                                          \
    X(BroadcastSs, "vbroadcastss", 0x66, 2, 0x18, -1, 4, V | E | Scalar)                                                                   \
    X(BroadcastSd, "vbroadcastsd", 0x66, 2, 0x19, -1, 8, V | E | W | Scalar)                                                               \
    X(AddPs, "vaddps", 0, 1, 0x58, -1, 4, V | E | Three)                                                                                   \
    X(AddPd, "vaddpd", 0x66, 1, 0x58, -1, 8, V | E | Three | W)                                                                            \
    X(SubPs, "vsubps", 0, 1, 0x5C, -1, 4, V | E | Three)                                                                                   \
    X(SubPd, "vsubpd", 0x66, 1, 0x5C, -1, 8, V | E | Three | W)                                                                            \
    X(MulPs, "vmulps", 0, 1, 0x59, -1, 4, V | E | Three)                                                                                   \
    X(MulPd, "vmulpd", 0x66, 1, 0x59, -1, 8, V | E | Three | W)                                                                            \
    X(DivPs, "vdivps", 0, 1, 0x5E, -1, 4, V | E | Three)                                                                                   \
    X(DivPd, "vdivpd", 0x66, 1, 0x5E, -1, 8, V | E | Three | W)                                                                            \
    X(MinPs, "vminps", 0, 1, 0x5D, -1, 4, V | E | Three)                                                                                   \
    X(MinPd, "vminpd", 0x66, 1, 0x5D, -1, 8, V | E | Three | W)                                                                            \
    X(MaxPs, "vmaxps", 0, 1, 0x5F, -1, 4, V | E | Three)                                                                                   \
    X(MaxPd, "vmaxpd", 0x66, 1, 0x5F, -1, 8, V | E | Three | W)                                                                            \
    X(SqrtPs, "vsqrtps", 0, 1, 0x51, -1, 4, V | E)                                                                                         \
    X(SqrtPd, "vsqrtpd", 0x66, 1, 0x51, -1, 8, V | E | W)                                                                                  \
    X(FmaPs, "vfmadd213ps", 0x66, 2, 0xA8, -1, 4, V | E | Three)                                                                           \
    X(FmaPd, "vfmadd213pd", 0x66, 2, 0xA8, -1, 8, V | E | Three | W | VexW)                                                                \
    X(RoundPs, "vroundps", 0x66, 3, 0x08, -1, 0, V | Imm)                                                                                  \
    X(RoundPd, "vroundpd", 0x66, 3, 0x09, -1, 0, V | Imm)                                                                                  \
    X(ScalePs, "vrndscaleps", 0x66, 3, 0x08, -1, 4, E | Imm)                                                                               \
    X(ScalePd, "vrndscalepd", 0x66, 3, 0x09, -1, 8, E | Imm | W)                                                                           \
    X(ScalefPs, "vscalefps", 0x66, 2, 0x2C, -1, 4, E | Three)                                                                              \
    X(ScalefPd, "vscalefpd", 0x66, 2, 0x2C, -1, 8, E | Three | W)                                                                          \
    X(AndPs, "vandps", 0, 1, 0x54, -1, 4, V | E | Three)                                                                                   \
    X(AndPd, "vandpd", 0x66, 1, 0x54, -1, 8, V | E | Three | W)                                                                            \
    X(AndNotPs, "vandnps", 0, 1, 0x55, -1, 4, V | E | Three)                                                                               \
    X(AndNotPd, "vandnpd", 0x66, 1, 0x55, -1, 8, V | E | Three | W)                                                                        \
    X(OrPs, "vorps", 0, 1, 0x56, -1, 4, V | E | Three)                                                                                     \
    X(OrPd, "vorpd", 0x66, 1, 0x56, -1, 8, V | E | Three | W)                                                                              \
    X(XorPs, "vxorps", 0, 1, 0x57, -1, 4, V | E | Three)                                                                                   \
    X(XorPd, "vxorpd", 0x66, 1, 0x57, -1, 8, V | E | Three | W)                                                                            \
    X(TernaryD, "vpternlogd", 0x66, 3, 0x25, -1, 4, E | Three | Imm)                                                                       \
    X(AddD, "vpaddd", 0x66, 1, 0xFE, -1, 4, V | E | Three)                                                                                 \
    X(AddQ, "vpaddq", 0x66, 1, 0xD4, -1, 8, V | E | Three | W)                                                                             \
    X(SubD, "vpsubd", 0x66, 1, 0xFA, -1, 4, V | E | Three)                                                                                 \
    X(SubQ, "vpsubq", 0x66, 1, 0xFB, -1, 8, V | E | Three | W)                                                                             \
    X(MulD, "vpmulld", 0x66, 2, 0x40, -1, 4, V | E | Three)                                                                                \
    X(MulQ, "vpmullq", 0x66, 2, 0x40, -1, 8, E | Three | W)                                                                                \
    X(MulUdq, "vpmuludq", 0x66, 1, 0xF4, -1, 8, V | E | Three | W)                                                                         \
    X(MinSd, "vpminsd", 0x66, 2, 0x39, -1, 4, V | E | Three)                                                                               \
    X(MaxSd, "vpmaxsd", 0x66, 2, 0x3D, -1, 4, V | E | Three)                                                                               \
    X(MinUd, "vpminud", 0x66, 2, 0x3B, -1, 4, V | E | Three)                                                                               \
    X(MaxUd, "vpmaxud", 0x66, 2, 0x3F, -1, 4, V | E | Three)                                                                               \
    X(MinSq, "vpminsq", 0x66, 2, 0x39, -1, 8, E | Three | W)                                                                               \
    X(MaxSq, "vpmaxsq", 0x66, 2, 0x3D, -1, 8, E | Three | W)                                                                               \
    X(MinUq, "vpminuq", 0x66, 2, 0x3B, -1, 8, E | Three | W)                                                                               \
    X(MaxUq, "vpmaxuq", 0x66, 2, 0x3F, -1, 8, E | Three | W)                                                                               \
    X(ShlD, "vpslld", 0x66, 1, 0x72, 6, 0, V | E | Imm)                                                                                    \
    X(ShrD, "vpsrld", 0x66, 1, 0x72, 2, 0, V | E | Imm)                                                                                    \
    X(SarD, "vpsrad", 0x66, 1, 0x72, 4, 0, V | E | Imm)                                                                                    \
    X(ShlQ, "vpsllq", 0x66, 1, 0x73, 6, 0, V | E | Imm | W)                                                                                \
    X(ShrQ, "vpsrlq", 0x66, 1, 0x73, 2, 0, V | E | Imm | W)                                                                                \
    X(SarQ, "vpsraq", 0x66, 1, 0x72, 4, 0, E | Imm | W)                                                                                    \
    X(ShlvQ, "vpsllvq", 0x66, 2, 0x47, -1, 8, V | E | Three | W | VexW)                                                                    \
    X(ShrvQ, "vpsrlvq", 0x66, 2, 0x45, -1, 8, V | E | Three | W | VexW)                                                                    \
    X(SarvQ, "vpsravq", 0x66, 2, 0x46, -1, 8, E | Three | W)                                                                               \
    X(CmpPs, "vcmpps", 0, 1, 0xC2, -1, 4, V | E | Three | Imm | ToMask)                                                                    \
    X(CmpPd, "vcmppd", 0x66, 1, 0xC2, -1, 8, V | E | Three | Imm | ToMask | W)                                                             \
    X(CmpD, "vpcmpd", 0x66, 3, 0x1F, -1, 4, E | Three | Imm | ToMask)                                                                      \
    X(CmpQ, "vpcmpq", 0x66, 3, 0x1F, -1, 8, E | Three | Imm | ToMask | W)                                                                  \
    X(CmpUd, "vpcmpud", 0x66, 3, 0x1E, -1, 4, E | Three | Imm | ToMask)                                                                    \
    X(CmpUq, "vpcmpuq", 0x66, 3, 0x1E, -1, 8, E | Three | Imm | ToMask | W)                                                                \
    X(EqD, "vpcmpeqd", 0x66, 1, 0x76, -1, 0, V | Three)                                                                                    \
    X(EqQ, "vpcmpeqq", 0x66, 2, 0x29, -1, 0, V | Three)                                                                                    \
    X(GtD, "vpcmpgtd", 0x66, 1, 0x66, -1, 0, V | Three)                                                                                    \
    X(GtQ, "vpcmpgtq", 0x66, 2, 0x37, -1, 0, V | Three)                                                                                    \
    X(BlendmPs, "vblendmps", 0x66, 2, 0x65, -1, 4, E | Three)                                                                              \
    X(BlendmPd, "vblendmpd", 0x66, 2, 0x65, -1, 8, E | Three | W)                                                                          \
    X(BlendvPs, "vblendvps", 0x66, 3, 0x4A, -1, 0, V | Three | Is4)                                                                        \
    X(BlendvPd, "vblendvpd", 0x66, 3, 0x4B, -1, 0, V | Three | Is4)                                                                        \
    X(TestPs, "vtestps", 0x66, 2, 0x0E, -1, 0, V)                                                                                          \
    X(TestPd, "vtestpd", 0x66, 2, 0x0F, -1, 0, V)                                                                                          \
    X(CvtDqPs, "vcvtdq2ps", 0, 1, 0x5B, -1, 4, V | E)                                                                                      \
    X(CvtUdqPs, "vcvtudq2ps", 0xF2, 1, 0x7A, -1, 4, E)                                                                                     \
    X(CvtPsDq, "vcvttps2dq", 0xF3, 1, 0x5B, -1, 4, V | E)                                                                                  \
    X(CvtDqPd, "vcvtdq2pd", 0xF3, 1, 0xE6, -1, 4, V | E | Half)                                                                            \
    X(CvtUdqPd, "vcvtudq2pd", 0xF3, 1, 0x7A, -1, 4, E | Half)                                                                              \
    X(CvtPdDq, "vcvttpd2dq", 0x66, 1, 0xE6, -1, 8, V | E | W | RegHalf)                                                                    \
    X(CvtPsPd, "vcvtps2pd", 0, 1, 0x5A, -1, 4, V | E | Half)                                                                               \
    X(CvtPdPs, "vcvtpd2ps", 0x66, 1, 0x5A, -1, 8, V | E | W | RegHalf)                                                                     \
    X(CvtQqPd, "vcvtqq2pd", 0xF3, 1, 0xE6, -1, 8, E | W)                                                                                   \
    X(CvtUqqPd, "vcvtuqq2pd", 0xF3, 1, 0x7A, -1, 8, E | W)                                                                                 \
    X(CvtQqPs, "vcvtqq2ps", 0, 1, 0x5B, -1, 8, E | W | RegHalf)                                                                            \
    X(CvtUqqPs, "vcvtuqq2ps", 0xF2, 1, 0x7A, -1, 8, E | W | RegHalf)                                                                       \
    X(CvtPdQq, "vcvttpd2qq", 0x66, 1, 0x7A, -1, 8, E | W)                                                                                  \
    X(CvtPsQq, "vcvttps2qq", 0x66, 1, 0x7A, -1, 4, E | Half)                                                                               \
    X(CvtPhPs, "vcvtph2ps", 0x66, 2, 0x13, -1, 0, V | E | Half)                                                                            \
    X(CvtPsPh, "vcvtps2ph", 0x66, 3, 0x1D, -1, 0, V | E | Half | Store | Imm)                                                              \
    X(MovZxBd, "vpmovzxbd", 0x66, 2, 0x31, -1, 0, V | E | Quarter)                                                                         \
    X(MovZxWd, "vpmovzxwd", 0x66, 2, 0x33, -1, 0, V | E | Half)                                                                            \
    X(MovSxDq, "vpmovsxdq", 0x66, 2, 0x25, -1, 0, V | E | Half)                                                                            \
    X(MovZxDq, "vpmovzxdq", 0x66, 2, 0x35, -1, 0, V | E | Half)                                                                            \
    X(MovDb, "vpmovdb", 0xF3, 2, 0x31, -1, 0, E | Quarter | Store)                                                                         \
    X(MovDw, "vpmovdw", 0xF3, 2, 0x33, -1, 0, E | Half | Store)                                                                            \
    X(MovQd, "vpmovqd", 0xF3, 2, 0x35, -1, 0, E | Half | Store)                                                                            \
    X(MovM2d, "vpmovm2d", 0xF3, 2, 0x38, -1, 0, E | FromMask)                                                                              \
    X(MovM2q, "vpmovm2q", 0xF3, 2, 0x38, -1, 0, E | FromMask | W)                                                                          \
    X(PackSsDw, "vpackssdw", 0x66, 1, 0x6B, -1, 0, V | Three)                                                                              \
    X(PackSsWb, "vpacksswb", 0x66, 1, 0x63, -1, 0, V | Three)                                                                              \
    X(PackUsDw, "vpackusdw", 0x66, 2, 0x2B, -1, 0, V | Three)                                                                              \
    X(PackUsWb, "vpackuswb", 0x66, 1, 0x67, -1, 0, V | Three)                                                                              \
    X(PermPs, "vpermps", 0x66, 2, 0x16, -1, 4, V | E | Three)                                                                              \
    X(ShufPs, "vshufps", 0, 1, 0xC6, -1, 0, V | Three | Imm)                                                                               \
    X(Extract128, "vextractf128", 0x66, 3, 0x19, -1, 0, V | Store | Imm | Extract)                                                         \
    X(KMov, "kmovw", 0, 1, 0x90, -1, 2, V | Masks | Scalar)                                                                                \
    X(KMovStore, "kmovw", 0, 1, 0x91, -1, 2, V | Masks | Scalar | Store)                                                                   \
    X(KMovFrom, "kmovw", 0, 1, 0x92, -1, 0, V | Masks | FromGeneral)                                                                       \
    X(KMovTo, "kmovw", 0, 1, 0x93, -1, 0, V | Masks | ToGeneral)                                                                           \
    X(KAnd, "kandw", 0, 1, 0x41, -1, 0, V | Masks | Three | L1)                                                                            \
    X(KAndNot, "kandnw", 0, 1, 0x42, -1, 0, V | Masks | Three | L1)                                                                        \
    X(KNot, "knotw", 0, 1, 0x44, -1, 0, V | Masks)                                                                                         \
    X(KOr, "korw", 0, 1, 0x45, -1, 0, V | Masks | Three | L1)                                                                              \
    X(KXor, "kxorw", 0, 1, 0x47, -1, 0, V | Masks | Three | L1)                                                                            \
    X(AddDouble, "vaddsd", 0xF2, 1, 0x58, -1, 8, V | Three | Scalar)                                                                       \
    X(AddSingle, "vaddss", 0xF3, 1, 0x58, -1, 4, V | Three | Scalar)                                                                       \
    X(SubDouble, "vsubsd", 0xF2, 1, 0x5C, -1, 8, V | Three | Scalar)                                                                       \
    X(SubSingle, "vsubss", 0xF3, 1, 0x5C, -1, 4, V | Three | Scalar)                                                                       \
    X(MulDouble, "vmulsd", 0xF2, 1, 0x59, -1, 8, V | Three | Scalar)                                                                       \
    X(MulSingle, "vmulss", 0xF3, 1, 0x59, -1, 4, V | Three | Scalar)                                                                       \
    X(DivDouble, "vdivsd", 0xF2, 1, 0x5E, -1, 8, V | Three | Scalar)                                                                       \
    X(DivSingle, "vdivss", 0xF3, 1, 0x5E, -1, 4, V | Three | Scalar)                                                                       \
    X(MinDouble, "vminsd", 0xF2, 1, 0x5D, -1, 8, V | Three | Scalar)                                                                       \
    X(MinSingle, "vminss", 0xF3, 1, 0x5D, -1, 4, V | Three | Scalar)                                                                       \
    X(MaxDouble, "vmaxsd", 0xF2, 1, 0x5F, -1, 8, V | Three | Scalar)                                                                       \
    X(MaxSingle, "vmaxss", 0xF3, 1, 0x5F, -1, 4, V | Three | Scalar)                                                                       \
    X(SqrtDouble, "vsqrtsd", 0xF2, 1, 0x51, -1, 8, V | Three | Scalar)                                                                     \
    X(SqrtSingle, "vsqrtss", 0xF3, 1, 0x51, -1, 4, V | Three | Scalar)                                                                     \
    X(RoundDouble, "vroundsd", 0x66, 3, 0x0B, -1, 8, V | Three | Scalar | Imm)                                                             \
    X(RoundSingle, "vroundss", 0x66, 3, 0x0A, -1, 4, V | Three | Scalar | Imm)                                                             \
    X(CmpDouble, "vcmpsd", 0xF2, 1, 0xC2, -1, 8, V | Three | Scalar | Imm)                                                                 \
    X(CmpSingle, "vcmpss", 0xF3, 1, 0xC2, -1, 4, V | Three | Scalar | Imm)                                                                 \
    X(TestDouble, "vucomisd", 0x66, 1, 0x2E, -1, 8, V | Scalar)                                                                            \
    X(TestSingle, "vucomiss", 0, 1, 0x2E, -1, 4, V | Scalar)                                                                               \
    X(CvtSdSs, "vcvtsd2ss", 0xF2, 1, 0x5A, -1, 8, V | Three | Scalar)                                                                      \
    X(CvtSsSd, "vcvtss2sd", 0xF3, 1, 0x5A, -1, 4, V | Three | Scalar)                                                                      \
    X(CvtSiSd, "vcvtsi2sd", 0xF2, 1, 0x2A, -1, 8, V | Three | Scalar | VexW | FromGeneral)                                                 \
    X(CvtSiSs, "vcvtsi2ss", 0xF3, 1, 0x2A, -1, 8, V | Three | Scalar | VexW | FromGeneral)                                                 \
    X(CvtSdSi, "vcvttsd2si", 0xF2, 1, 0x2C, -1, 8, V | Scalar | VexW | ToGeneral)                                                          \
    X(CvtSsSi, "vcvttss2si", 0xF3, 1, 0x2C, -1, 4, V | Scalar | VexW | ToGeneral)                                                          \
    X(MovQFrom, "vmovq", 0x66, 1, 0x6E, -1, 8, V | Scalar | VexW | FromGeneral)                                                            \
    X(MovQTo, "vmovq", 0x66, 1, 0x7E, -1, 8, V | Scalar | VexW | FromGeneral | Store)                                                      \
    X(MovDFrom, "vmovd", 0x66, 1, 0x6E, -1, 4, V | Scalar | FromGeneral)                                                                   \
    X(MovDTo, "vmovd", 0x66, 1, 0x7E, -1, 4, V | Scalar | FromGeneral | Store)                                                             \
    X(MovMskPd, "vmovmskpd", 0x66, 1, 0x50, -1, 0, V | ToGeneral)                                                                          \
    X(KOrTestB, "kortestb", 0x66, 1, 0x98, -1, 0, V | Masks)                                                                               \
    X(KOrTestW, "kortestw", 0, 1, 0x98, -1, 0, V | Masks)

enum class Form : uint8_t {
#define X(NAME, ...) NAME,
    KINDLING_FOR_EACH_VECTOR_FORM(X)
#undef X
};
inline constexpr int form_count = 0
#define X(...) +1
    KINDLING_FOR_EACH_VECTOR_FORM(X)
#undef X
    ;

struct FormFacts {
    char text[13];
    uint8_t prefix, map, opcode;
    int8_t digit;
    uint8_t element;
    uint32_t flags;
};
const FormFacts& facts(Form form);

enum General : uint8_t { Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi, R8, R9, R10, R11, R12, R13, R14, R15 };
enum class Condition : uint8_t {
    Below = 2,
    AboveEqual = 3,
    Zero = 4,
    NotZero = 5,
    BelowEqual = 6,
    Above = 7,
    Sign = 8,
    NotSign = 9,
    Parity = 10,
    NotParity = 11,
    Less = 12,
    GreaterEqual = 13,
    LessEqual = 14,
    Greater = 15
};
inline Condition opposite(Condition condition) { return static_cast<Condition>(static_cast<uint8_t>(condition) ^ 1); }
/// The numbers are those of the encoding.
enum class Arithmetic : uint8_t { Add = 0, Or = 1, And = 4, Sub = 5, Xor = 6, Compare = 7 };
enum class Single : uint8_t { Not = 2, Negate = 3, Divide = 7 }; // Divide: rdx:rax by the operand, signed
enum class Shift : uint8_t { Left = 4, Right = 5, Signed = 7 };

/// The r/m operand: a register, or memory at base + index * scale + offset.
struct Place {
    int8_t reg = -1;
    uint8_t base = 0;
    int8_t index = -1;
    uint8_t scale = 1;
    bool repeated = false; // broadcast: one element for all lanes
    bool constant = false; // [rip + ?]: the 32-bit distance is noted in `constants`, with `offset`
    int32_t offset = 0;

    static Place of(int reg) {
        Place place;
        place.reg = static_cast<int8_t>(reg);
        return place;
    }
    static Place at(General base, int32_t offset) {
        Place place;
        place.base = base;
        place.offset = offset;
        return place;
    }
    static Place at(General base, General index, int scale) {
        Place place;
        place.base = base;
        place.index = static_cast<int8_t>(index);
        place.scale = static_cast<uint8_t>(scale);
        return place;
    }
};

class Assembler {
public:
    /// `evex`: vector forms that have an EVEX encoding get it.
    explicit Assembler(bool evex) : evex_(evex) {}

    std::vector<uint8_t> code;
    std::string* listing = nullptr; // one instruction a line, if wanted
    struct Distance {
        int place, after; // of the 32 bits, and what they count from
        int32_t offset;
    };
    std::vector<Distance> constants;

    /// A vector form of `bytes` (16, 32, 64). `reg` is the register that is not r/m; Is4 has the fourth one in
    /// `immediate`. `source` is the one in vvvv. `mask` k1 to k7 merges, or writes zeros if `zero`.
    void emit(Form form, int bytes, int reg, int source, const Place& rm, int immediate = 0, int mask = 0, bool zero = false);

    void push(General reg);
    void pop(General reg);
    void load(General to, const Place& from); // 64 bits
    void store(const Place& to, General from);
    void move(General to, General from);
    void move_immediate(General to, uint64_t value); // the shortest form
    int load_address(General to);                    // lea to, [rip + ?]; patched by bind
    void add(General to, int32_t value);
    void subtract(General to, int32_t value);
    void compare(General a, General b);
    void compare(General a, int32_t value);
    void zero(General reg);
    void test_low_byte_of_rax();   // zero: the low byte of rax
    int jump(Condition condition); // forward; the place to bind
    int jump();
    void jump_back(Condition condition, int target);
    void jump_back(int target);
    int call();
    void call(General reg);
    void ret();
    void vzeroupper();
    void align(int bytes);                        // by one or more nops
    void fetch(const Place& from, bool to_write); // prefetcht0 or prefetchw

    // ---- 64-bit integers, but where `bytes` says otherwise
    void operate(Arithmetic op, General to, const Place& from);
    void operate(Arithmetic op, const Place& to, int32_t value, int bytes = 8); // 8 or 1
    void operate(Single op, General reg);
    void multiply(General to, const Place& from);
    void multiply(General to, const Place& from, int32_t value);
    void sign_of_rax_to_rdx();
    void shift(Shift op, General reg, int count);
    void shift_by(Shift op, General to, const Place& from, General count); // BMI2
    void address_of(General to, const Place& place);
    void load_narrow(General to, const Place& from, int bytes, bool is_signed); // 1, 2, 4; widened to 64 bits
    void store_narrow(const Place& to, General from, int bytes);
    void store_immediate(const Place& to, int32_t value, int bytes); // 1, 2, 4, 8
    void test(General a, General b);
    void count_bits(General to, General from);
    void set_if(Condition condition, General low_byte);
    void move_if(Condition condition, General to, const Place& from);
    /// The 32-bit distance at `place`, as returned by the functions above, is patched to lead here, or to `target`.
    void bind(int place) { bind(place, here()); }
    void bind(int place, int target);
    int here() const { return static_cast<int>(code.size()); }

private:
    bool evex_;

    void byte(unsigned value) { code.push_back(static_cast<uint8_t>(value)); }
    void word32(uint32_t value);
    void rm(int reg, const Place& place, int compress);
    void general(int opcode, int reg, const Place& place, bool wide = true);
    void instruction(int opcode, int reg, const Place& place, int bytes, int immediate_bytes = 0, int64_t immediate = 0);
    void line(int from, const std::string& text);
};

/// The name of a vector register of a length in bytes, and of a general register or its lower part.
std::string register_name(int reg, int bytes);
std::string general_name(int reg, int bytes = 8);

} // namespace kindling::native
