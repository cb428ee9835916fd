BG1_rearrangedJÉÍr¿ŠŒ‘¾ğ
4¿Èvg?