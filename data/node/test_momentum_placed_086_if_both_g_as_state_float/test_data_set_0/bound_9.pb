BX2_new_againJ 
2οωeΊ™>‰§c)€>½ευΎNΉ>ƒΧÿqiΘ©>