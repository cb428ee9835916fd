B
X_new_sameJ0N§‚L>°ñ¿×p(‰%Jð¿z,©ÛjCã?”ë}Ê’­¿µ./hÐ?$öxUì@÷¿