BV_new_negativeJ0HØ©³T‚>Ÿ‹›þ<Ö”>u
ËNqÁŒ>våS.<>qq{}ø¨Ÿ>g$õP6à›>