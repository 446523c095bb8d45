package main

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes to stderr, for people or for machines.
func newLogger(c *config) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(c.logLevel)
	if err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	settings := zap.NewProductionConfig()
	if c.logFormat == "console" {
		settings = zap.NewDevelopmentConfig()
		settings.Development, settings.DisableStacktrace = false, true
	}
	settings.Level, settings.DisableCaller = zap.NewAtomicLevelAt(level), true
	return settings.Build()
}
