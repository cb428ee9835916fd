BV2_new_twin_capturedJ <Ì1Ñ<ËÀ¯íS³<ØˆVô¹pÃ<
îƒû»¡<