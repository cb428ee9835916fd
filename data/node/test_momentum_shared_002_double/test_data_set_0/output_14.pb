BX_new_XGV_zeroJ ╬З°Ь?яи?<М═
Дощ©н>oTR╟?p]√ОAzЕ©