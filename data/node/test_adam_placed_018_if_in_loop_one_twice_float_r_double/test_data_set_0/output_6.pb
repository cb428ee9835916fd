BV2_new_captured_if_loopJ0√-
>+Oø1e?Ω"øùΩ>÷¿d?√-
>+Oø1e?Ω"øùΩ>÷¿d?