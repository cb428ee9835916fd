BV2_newJ('IÐ¸ÝŽ>ÂgnpÜ’ˆ>¼âÌÙ
x>‘alGm>+MÈá†t“>