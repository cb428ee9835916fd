BX1_new_sameJ €™Aσ –Ά>
Nl΅2–>LAγί1µ>RξΪ®>