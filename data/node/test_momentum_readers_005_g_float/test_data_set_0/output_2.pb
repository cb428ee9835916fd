B
G_negativeJŽ­²¾J6>½Øó?—.x>¹[œ¾´^2=