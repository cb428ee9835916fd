B
V_new_zeroJøñ@Æc’¾ÍxÉ¿ƒ@¿