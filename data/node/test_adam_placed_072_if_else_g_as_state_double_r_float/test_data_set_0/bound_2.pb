BX2_new_capturedJ »•|_>dô×~¿V>
Ç®d>N>Ô‚ß»‚]b>