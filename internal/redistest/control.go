package redistest

import "syscall"

// Stop ends the server with SIGTERM and waits until it is gone. A server that is
// down stays so.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server with SIGKILL and waits until it is gone.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

func (s *Server) end(sig syscall.Signal) {
	s.mustBeOwn()
	s.t.Helper()
	if err := s.node.end(sig); err != nil {
		s.t.Fatalf("redistest: %v", err)
	}
}

// Pause stops the process with SIGSTOP: its connections stay open, the kernel
// still accepts new ones, and nothing is answered until [Server.Resume].
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on with SIGCONT.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.mustBeOwn()
	s.t.Helper()
	proc := s.node.running()
	if proc == nil {
		s.t.Fatalf("redistest: %v for a server that is down", sig)
	}
	proc.signal(sig)
}

// Restart stops the server if it runs, and returns when it answers again on the
// same port: with its data, which takes [AppendOnly], or empty.
func (s *Server) Restart(keepData bool) {
	s.mustBeOwn()
	s.t.Helper()
	if keepData && !s.node.settings.appendOnly {
		s.t.Fatal("redistest: only a server started with AppendOnly keeps its data")
	}
	s.Stop()
	if err := s.comeBack(keepData); err != nil {
		s.t.Fatalf("redistest: restarting redis-server: %v", err)
	}
}

func (s *Server) comeBack(keepData bool) error {
	if !keepData {
		if err := s.node.forget(); err != nil {
			return err
		}
	}
	return s.node.restart()
}

func (s *Server) mustBeOwn() {
	if s.t == nil {
		panic("redistest: the shared server is not one test's to stop or pause; use Start")
	}
}
