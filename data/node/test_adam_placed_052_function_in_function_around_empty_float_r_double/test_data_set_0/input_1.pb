BX1_rearrangedJ
ק¿טל׃¾°מ•?6e#?