BV_new_grown_1J <OöÑÞDh>SÇ"X·‚>‚ºò¥ˆ>
ØNÍ}>