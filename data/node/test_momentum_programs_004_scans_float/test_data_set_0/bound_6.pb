B
V_capturedJ`óóZˆ($ƒ>“(¯ûmƒ>._aà<kr>kœ´íªT>dU3½í”y>—,+=•p>üÈs¢V>;L:h¡Ét>Ë$~%Op>‹œ¦´@™–>‰POj	‡>8q U;u>