BX_newJ`ûÎçÌrd>!E§îd·ó='“¯ïpvc>
ÚìéU>ø¢@Yxc>zÿE1þX>Tšš¬ÖH>7]—ÖJXP>ï0‘~h×I>êARC	[P>ÄX¨@}V>]$JôÍHS>