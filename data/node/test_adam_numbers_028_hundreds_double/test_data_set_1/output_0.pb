BX_newJ t-ÊßD
@^aHÄ@cP÷xKm	@CÄH@