// Package console starts `joiner console` as a process, as people do, and tries its page in a real browser: Chromium, driven by
// Playwright (see browser/). `make console-test` installs what that takes; without it those tests say so and are skipped.
//
//	c, err := console.Start(ctx, dir, "--testenv", stack.Cloud.Endpoint())
//	defer c.Stop()
//	fmt.Println(c.URL)
package console
