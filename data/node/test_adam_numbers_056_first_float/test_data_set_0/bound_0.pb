BX_newJ –¦RεσφBYίσΧβάB.
έTΤBAλR@W=ΜB