BX_newJ XÊ›ºLh÷¿FªÝ"ù¿hOò
3u÷¿«ñJ7!iš?