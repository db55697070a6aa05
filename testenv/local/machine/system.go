package machine

import (
	"errors"
	"strings"
)

// system is what an image boots, and with it who reads the user data.
type system struct {
	name    string // as the Node reports it
	os      string // of Kubernetes: linux or windows
	build   string // of Windows, such as 10.0.20348
	release string // of Bottlerocket, such as v1.50.0-1a2b3c4d
	volume  string // device that pods write to
	gib     int64  // its size where the launch does not say
}

var (
	al2023       = system{name: "Amazon Linux 2023", os: "linux", volume: "/dev/xvda", gib: 20}
	al2          = system{name: "Amazon Linux 2", os: "linux", volume: "/dev/xvda", gib: 20}
	bottlerocket = system{name: "Bottlerocket OS", os: "linux", volume: "/dev/xvdb", gib: 20}
	windows      = system{name: "Windows Server", os: "windows", volume: "/dev/sda1", gib: 50}
	own          = system{name: "Ubuntu 24.04.3 LTS", os: "linux", volume: "/dev/sda1", gib: 8}
)

// windowsBuilds are the builds of the years in names of images.
var windowsBuilds = map[string]string{"2019": "10.0.17763", "2022": "10.0.20348", "2025": "10.0.26100"}

// systemOf tells what boots from the name of the image. An image of no published
// family is one made from Amazon Linux 2023.
func systemOf(i Instance) system {
	name := i.ImageName
	switch {
	case strings.HasPrefix(name, "amazon-eks-node-al2023-"):
		return al2023
	case strings.HasPrefix(name, "amazon-eks-node-"), strings.HasPrefix(name, "amazon-eks-arm64-node-"), strings.HasPrefix(name, "amazon-eks-gpu-node-"):
		return al2
	case strings.HasPrefix(name, "bottlerocket-"):
		s := bottlerocket
		s.release = name[strings.LastIndex(name, "-v")+1:]
		return s
	case strings.HasPrefix(name, "kubeadm-"):
		return own
	case strings.HasPrefix(name, "Windows_Server-"):
		s := windows
		year, _, _ := strings.Cut(strings.TrimPrefix(name, "Windows_Server-"), "-")
		s.name, s.build = s.name+" "+year, windowsBuilds[year]
		return s
	}
	return al2023
}

// ReadUserDataOf returns what an instance's user data amounts to, read as its
// image reads it. Whatever the format, it comes back as a NodeConfig: what the
// instance's kubelet is told, and whether its disks become an array. The error
// says why the instance would not join.
func ReadUserDataOf(i Instance) (NodeConfig, error) {
	s := systemOf(i)
	if s == al2023 {
		return ReadUserData(i.UserData)
	}
	config, err := s.read(i)
	if err != nil {
		return NodeConfig{}, err
	}
	return config, config.validateCluster()
}

// read takes user data apart as a system other than Amazon Linux 2023 does.
func (s system) read(i Instance) (NodeConfig, error) {
	switch {
	case s == own:
		return NodeConfig{}, errors.New("its scripts join by kubeadm, which asks the cluster")
	case s == al2:
		return readBootstrapScript(i.UserData)
	case s.os == windows.os:
		return readPowerShell(i.UserData, i.VCPUs)
	default:
		return readSettings(i.UserData, i.ENIMaxPods, s.release)
	}
}
