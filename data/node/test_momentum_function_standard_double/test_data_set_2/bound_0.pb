BX_newJํ$ki๐ย<oแผ
ษ<?พZ
Sส<