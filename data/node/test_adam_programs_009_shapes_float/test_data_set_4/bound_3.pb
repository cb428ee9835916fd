BV_new_shapes_2J(Ë³.‚>Mˆ>Ô¯QÇU„>«[*°zå†>Ö´'Š÷R‰>Zcj
Éz>