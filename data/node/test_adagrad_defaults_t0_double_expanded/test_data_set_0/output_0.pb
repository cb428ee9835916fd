BX_newJ ]Ckþÿlô?O@í
Í¿Q}r6ƒð¿¸âìi¶?