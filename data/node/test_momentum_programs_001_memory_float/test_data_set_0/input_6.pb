B
V_negativeJÕo@¾$½>Î½Š˜K?