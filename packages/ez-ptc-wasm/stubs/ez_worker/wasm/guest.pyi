from ez_ptc.sandbox.worker.wasm.guest import Guest as Guest
