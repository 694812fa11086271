from ez_ptc.sandbox.wasm.guest.guest import Guest as Guest
