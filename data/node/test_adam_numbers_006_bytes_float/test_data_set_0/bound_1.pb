BV_newJ •;™ƒ‚€>Ë,˜q½ô‹>Fk
rWƒ>*ül×|A>