BH_newJ ²ΎΎ–Ό
@VEολbfÒ?²ΌfU]?υ?ς®o-STψ?