BX3_new_twin_laterJ▐К&■уж>K
ВY∙╪н>