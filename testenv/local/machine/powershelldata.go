package machine

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/machine/powershell"
)

// powershellBlock is what EC2's launch agent runs: the first block there is.
var powershellBlock = regexp.MustCompile(`(?is)<powershell>(.*?)</powershell>`)

// readPowerShell does what the launch agent of Windows and then the image's
// bootstrap script do. The script is not run: its last call of the bootstrap
// script counts.
func readPowerShell(data []byte, cores int) (NodeConfig, error) {
	if len(data) > maxUserDataBytes {
		return NodeConfig{}, fmt.Errorf("user data has %d bytes, EC2 allows %d", len(data), maxUserDataBytes)
	}
	block := powershellBlock.FindSubmatch(data)
	if block == nil {
		return NodeConfig{}, errors.New("user data has no <powershell> block")
	}
	commands, err := powershell.Commands(string(block[1]))
	if err != nil {
		return NodeConfig{}, fmt.Errorf("user data: %w", err)
	}
	var call *powershell.Command
	for n := range commands {
		if strings.HasSuffix(strings.ToLower(commands[n].Name), `\start-eksbootstrap.ps1`) {
			call = &commands[n]
		}
	}
	if call == nil {
		return NodeConfig{}, errors.New("user data does not call Start-EKSBootstrap.ps1")
	}
	return windowsConfig(cores, call.Parameters())
}

func windowsConfig(cores int, parameters map[string]string) (NodeConfig, error) {
	var c NodeConfig
	authority, err := base64.StdEncoding.DecodeString(parameters["Base64ClusterCA"])
	if err != nil {
		return NodeConfig{}, fmt.Errorf("Start-EKSBootstrap.ps1: -Base64ClusterCA: %w", err)
	}
	c.Spec.Cluster = ClusterDetails{Name: parameters["EKSClusterName"], APIServerEndpoint: parameters["APIServerEndpoint"], CertificateAuthority: authority}
	c.Spec.Kubelet.Flags = []string{parameters["KubeletExtraArgs"]}
	// Addresses do not bound the pods of a Windows node, so that the kubelet's default holds; what is reserved follows
	// the pods there will be.
	k := kubelet{labels: map[string]string{}}
	k.config.MaxPods = kubeletMaxPods
	if err := k.applyFlags(c.Spec.Kubelet.Flags); err != nil {
		return NodeConfig{}, fmt.Errorf("kubelet flags: %w", err)
	}
	c.Spec.Kubelet.Config = map[string]any{
		"maxPods":      kubeletMaxPods,
		"kubeReserved": map[string]any{"memory": fmt.Sprintf("%dMi", 11*k.maxPods(cores)+255)},
	}
	return c, nil
}
