BX1_new_capturedJ 
÷QqXb>!µ±ò™>„„½ËöD>ª:Ç'CMb>