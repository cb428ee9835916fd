BH2JGÅ
?i,e@&yf@d»o@