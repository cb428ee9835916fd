BV3_new_capturedJhZøZõ„>Ñ
}6]\>