B
X_now_keptJGXu¾ò´â?~K¾©ÆÄ¿