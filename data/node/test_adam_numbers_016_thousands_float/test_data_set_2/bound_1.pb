BV_newJ О°■╫цИ>гу╜{ЬYЖ>@ФV
wД>tPv;jЙЗ>