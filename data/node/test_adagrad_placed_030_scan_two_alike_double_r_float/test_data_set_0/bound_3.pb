BX2_new_twinJ úN{Úl5>„
žþ§2>M#§jÏ=>3®úlþfí=