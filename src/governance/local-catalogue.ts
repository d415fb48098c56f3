import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { DiscoverableDecorator } from '@nestjs/core';
import { hasSubject } from '../mcp/compile-entry.js';
import { McpPrompt, McpResource, McpResourceTemplate, McpTool } from '../mcp/decorators.js';
import { outputSchemaOf } from '../mcp/json-schema.js';
import type { CatalogueItem } from './core/index.js';
import { outputFields } from './output-fields.js';

/**
 * What this server itself has, read from the decorators: nothing is constructed and no source is asked. It has everything
 * that the product can do, also what the sources of this process do not allow: a policy that names a tool whose source is
 * down or switched off is not wrong (spec §9.4: catalogue and availability are separate).
 */
export function localCatalogue(classes: readonly Type[]): readonly CatalogueItem[] {
  return classes.map((type): CatalogueItem => {
    const about = { hasSubject: hasSubject(type.prototype as { subject?(): null }) };
    const tool = optionsOf(McpTool, type);
    if (tool !== undefined) {
      const { name, description, output, parts = [] } = tool;
      return { kind: 'tool', name, description, parts, outputFields: outputFields(outputSchemaOf(output)), ...about };
    }
    const resource = optionsOf(McpResource, type);
    if (resource !== undefined) {
      const { uri, name, description } = resource;
      return { kind: 'resource', name, uri, description, hasSubject: false };
    }
    const family = optionsOf(McpResourceTemplate, type);
    // A family is decided as a whole: a mapping names its template.
    if (family !== undefined) {
      const { uriTemplate: uri, name, description } = family;
      return { kind: 'resource', name, uri, description, ...about };
    }
    const prompt = optionsOf(McpPrompt, type);
    if (prompt === undefined) throw new TypeError(`${type.name} is neither a tool nor a resource nor a prompt`);
    return { kind: 'prompt', name: prompt.name, description: prompt.description, ...about };
  });
}

const optionsOf = <Options>(decorator: DiscoverableDecorator<Options>, type: Type): Options | undefined =>
  Reflect.getMetadata(decorator.KEY, type) as Options | undefined;
