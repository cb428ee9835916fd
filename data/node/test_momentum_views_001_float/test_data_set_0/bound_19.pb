BV_new_V_reversedJ0ŠpÐŸºw>Õ>¸ªÙª“>ÏÎs?	’>BÊZ†
Š>›d4‚äƒ>†W6Uˆ>