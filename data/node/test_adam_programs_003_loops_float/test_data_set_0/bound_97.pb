BX_now_swappedJ |чЄVТьі>LЃ?r7ЭБ>ТРТ
`
Ж>(ў6рЗ>