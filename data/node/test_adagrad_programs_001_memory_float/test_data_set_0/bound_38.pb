BX_first_attributesJ _Œã
mß€>7ã!VC>ŸÐ*ÕÍ>³fƒ7Ñk>