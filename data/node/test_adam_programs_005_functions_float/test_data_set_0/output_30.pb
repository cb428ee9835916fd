BH_new_fixed_otherwiseJúH?U¿@3_·?
ƒ?