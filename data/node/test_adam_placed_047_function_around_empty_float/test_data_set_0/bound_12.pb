BV3_new_capturedJgB˜¢ó+€>Ñ
}6]\>