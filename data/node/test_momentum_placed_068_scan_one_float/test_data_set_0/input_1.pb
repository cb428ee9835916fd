BX_rearrangedJç°¿ÄAÈ?]üï?ÁÍ?t
$?]C¿