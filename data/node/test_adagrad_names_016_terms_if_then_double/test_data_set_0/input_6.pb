Bnorm_coefficientJ Ñx,¶°	@²\fÚh9
@
7Ü¥U@ÒA ©‚ì÷?