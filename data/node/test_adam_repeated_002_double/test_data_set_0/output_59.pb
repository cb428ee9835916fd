BX3_new_H_lastJ F*
Ð¯Àõ?iú‰ä÷?ÙhE^¢@ä¿hoójs×¿