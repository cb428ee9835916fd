B
X_now_readJGXu¾ò´â?~K¾©ÆÄ¿