BH2_new_laterJ‘´ÄÀdƒ
ÀÊ+ÀÄûÓ¿