// Package child runs other programs as children that cannot outlive us.
//
// It decides how a child is started (own process group, killed by the kernel
// when we die, where the platform can do that), where its output goes (one log
// file), and how its end is told (Done and Err, with the last lines of the
// log). What the programs are and when one is ready is left to the caller.
//
//	p, err := child.Start(child.Spec{Name: "etcd", Path: "/usr/bin/etcd", LogPath: "/var/log/etcd.log"})
//	if err != nil {
//		return err
//	}
//	defer p.Kill()
//	select {
//	case <-p.Done():
//		return p.Err()
//	case <-ready:
//	}
package child
