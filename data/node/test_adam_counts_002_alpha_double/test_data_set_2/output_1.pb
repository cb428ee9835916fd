BV_newJ F“a=íb@¾VFòÜ!@pÅ€
©b@QqYœ@